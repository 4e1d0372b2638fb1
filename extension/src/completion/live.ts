/**
 * The one suggestion that lives: what was asked, what has come of it, and how much of it the person has typed.
 *
 * Knows nothing of VS Code, so that it can be tested alone. Offsets count UTF-16 units, as VS Code does.
 */

export interface Place {
  uri: string;
  version: number;
  offset: number;
}

export interface Change {
  offset: number;
  removed: number;
  text: string;
}

/**
 * `selected` is what the selected entry of the open suggest list would still add at the cursor, "" without a list.
 *
 * Invariant: while it lives, the document at `place.version` is the one that was asked about with `typed` inserted at
 * `start`, the cursor belongs at `place.offset` = `start` + `typed.length`, and `text` begins with `typed`.
 */
export class Live {
  readonly start: number;
  text = "";
  done = false;
  private typed = "";

  constructor(
    readonly token: number,
    private place: Place,
    private selected = "",
  ) {
    this.start = place.offset;
  }

  /** Whether a request at this place, with this entry selected, is answered by this suggestion. */
  answers(place: Place, selected: string): boolean {
    return this.standsAt(place) && selected === this.selected;
  }

  standsAt(place: Place): boolean {
    return (
      place.uri === this.place.uri &&
      place.version === this.place.version &&
      place.offset === this.place.offset
    );
  }

  belongsTo(uri: string): boolean {
    return uri === this.place.uri;
  }

  /** What is still to be inserted at the cursor. */
  get rest(): string {
    return this.text.slice(this.typed.length);
  }

  /** Whether all of it has been typed or accepted: what comes next is another question. */
  get usedUp(): boolean {
    return this.done && this.typed !== "" && this.rest === "";
  }

  /** Takes the text so far; returns false if it no longer continues what was typed, and the suggestion is dead. */
  grow(text: string, done: boolean): boolean {
    this.text = text;
    this.done = done;
    return text.startsWith(this.typed);
  }

  /** Follows an edit; returns false if it is anything but typing along the suggestion, which is then dead. */
  follow(version: number, changes: readonly Change[]): boolean {
    const [change] = changes;
    if (change === undefined) {
      this.place = { ...this.place, version };
      return true;
    }
    const along =
      changes.length === 1 &&
      change.removed === 0 &&
      change.offset === this.place.offset &&
      this.rest.startsWith(change.text);
    if (!along) {
      return false;
    }
    this.typed += change.text;
    this.selected = this.selected.startsWith(change.text) ? this.selected.slice(change.text.length) : "";
    this.place = { ...this.place, version, offset: this.place.offset + change.text.length };
    return true;
  }
}
