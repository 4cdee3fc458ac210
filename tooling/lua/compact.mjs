/**
 * The text that travels to Redis: without comments, indentation and empty lines, which are a third of the sources. A server
 * keeps each text that it has run, and a client sends it after each restart.
 */
import { withoutComment } from './without-comment.mjs';

/** @param {string} text of a script, with its parts */
export function compact(text) {
  const [shebang, ...lines] = text.split('\n');
  const code = lines.map((line) => withoutComment(line).trim()).filter((line) => line !== '');
  return `${[shebang, ...code].join('\n')}\n`;
}
