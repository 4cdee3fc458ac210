/**
 * The text that travels to Redis: without comments, indentation and empty lines, which are a third of the sources. A server
 * keeps each text that it has run, and a client sends it after each restart.
 */
import { withoutComment } from './without-comment.mjs';

/** @param {string} text of a script, or of whole lines of it */
export function compact(text) {
  const lines = text.split('\n').map((line) => (line.startsWith('#!') ? line : withoutComment(line).trim()));
  return lines.map((line) => (line === '' ? '' : `${line}\n`)).join('');
}
