"""The index: what the workspace defines, fresh at every edit.

From the bottom up:

    source, symbols         a text and its nodes' text; what is known of a module, as plain data
    split, mend, lines      a text as chunks; a chunk that does not parse, mended or read by its lines
    extract, calls,         from statements and text to symbols
    commented, conditions
    shift, parse            symbols moved and joined; a text, and an edit of it, to a module
    environment, find       where a Python finds its modules; from a dotted name to a file
    files, ignore, uses     a file to its packed symbols; which files count; attribute uses of the workspace
    workspace               `Index`: open documents and files, one answer per path
    scope, definitions,     where a place is; what a name stands for, across files; classes, members, told types
    lookup, resolve
    store, cold, watch      kept on disk; the first indexing; changes on disk
    cli                     `tiercel index`, `tiercel where`

Nothing here imports or runs code of the workspace.
"""
