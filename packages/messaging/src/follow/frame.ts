/**
 * The messages that are pushed to followers of a chat, one for each script call that changed it. A message is `*:` and the
 * frames of all changes, in order. A frame is a kind, a u32 BE length, and a text. Names are encoded.
 *
 * | Kind | Meaning | Text |
 * |---|---|---|
 * | `m` | an entry of the log: a message, edit or deletion | the entry as it is stored |
 * | `j` | a member joined | the member |
 * | `l` | a member left | `<member>` NUL `<the newest id then>` NUL `<their cursor>` |
 * | `t` | a member is typing | the member |
 * | `p` | the presence of a member | `<member>` NUL `<status>` |
 * | `x` | the chat is gone | |
 *
 * Scripts write one with `struct.pack('>c1Ic0', kind, #text, text)`.
 */

export interface Frame {
  /** One character. Later versions may have more kinds. */
  readonly kind: string;
  readonly text: string;
}

const HEAD_BYTES = 5;

/** The frames of a message, without `*:`. A truncated frame is skipped. O(bytes). */
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
