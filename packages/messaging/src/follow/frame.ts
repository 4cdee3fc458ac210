/**
 * What is pushed to those who follow a chat: one message for each script call that changed it, `*:` and the frames of all
 * that happened, in order. A frame is a kind, u32 BE length, and its text. Names in it are encoded.
 *
 * | Kind | What | Text |
 * |---|---|---|
 * | `m` | an entry of the log: a message, edit or deletion | the entry as it is stored |
 * | `j` | somebody joined | the member |
 * | `l` | somebody left | `<member>` NUL `<the newest id then>` NUL `<their cursor>` |
 * | `t` | a member is typing | the member |
 * | `p` | the presence of a member | `<member>` NUL `<status>` |
 * | `x` | the chat is gone | |
 *
 * Scripts write one with `struct.pack('>c1Ic0', kind, #text, text)`.
 */

export interface Frame {
  /** One character. A later version may have more kinds than this one knows. */
  readonly kind: string;
  readonly text: string;
}

const HEAD_BYTES = 5;

/** The frames of a message, without `*:`. What is cut off at the end is left out. O(bytes). */
export function decodeFrames(body: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at + HEAD_BYTES <= body.length) {
    const from = at + HEAD_BYTES;
    const to = from + body.readUInt32BE(at + 1);
    if (to > body.length) break;
    frames.push({ kind: String.fromCharCode(body[at]!), text: body.toString('utf8', from, to) });
    at = to;
  }
  return frames;
}
