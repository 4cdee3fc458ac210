/** The line up to `--`, unless that stands in quotes. Scripts have no long brackets (`[[`), which `readHeader` refuses. */
export function withoutComment(line) {
  return /^(?:[^'"-]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-(?!-))*/.exec(line)[0];
}
