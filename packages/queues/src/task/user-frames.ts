/**
 * The frames of a stack that belong to the application. Three kinds of frames are cut:
 *
 *   those of Node's internals
 *   those of files of Mortise   known by their folder: `node_modules/@mortise`, or `src` and `dist` beside this file's own
 *   all after a call of handlers   known by the names of the two functions that call them, which bundlers keep
 *
 * So a bundle, where application and library are one file, may show frames of the library above those of a handler, when
 * its context threw the error. A stack without other frames is kept up to the call, but for an error of Mortise itself, such as a
 * timeout: its code and its message tell everything.
 */

/** Names of properties, so that no minifier changes them; see handler-call.ts. */
export const HANDLER_CALLS = ['mortiseCallHandler', 'mortiseCallBatchHandler'] as const;

const FRAME = /^\s+at /;
const CALL = new RegExp(`^\\s+at (?:async )?[\\w.$<> ]*\\b(?:${HANDLER_CALLS.join('|')})\\b`);
const INTERNAL = /^\s+at (?:.* \()?node:internal\//;
const INSTALLED = /[\\/]node_modules[\\/]@mortise[\\/]/;
/** This file in a checkout: the folder of the packages. */
const CHECKOUT = /^\s+at .*?((?:[a-z]:)?[\\/][^\s()]*[\\/]packages[\\/])queues[\\/](?:src|dist)[\\/]/im;
const SOURCE = /^(?:redis|queues|locks|messaging|autocomplete|cache)[\\/](?:src|dist)[\\/]/;

let checkout: string | undefined;

export function userFrames(stack: string, isOwnError = false): string[] {
  const frames = stack.split('\n').filter((line) => FRAME.test(line));
  const call = frames.findIndex((frame) => CALL.test(frame));
  const above = call === -1 ? frames : frames.slice(0, call);
  const users = above.filter((frame) => !INTERNAL.test(frame) && !isOfMortise(frame));
  return users.length > 0 || isOwnError ? users : above;
}

function isOfMortise(frame: string): boolean {
  if (INSTALLED.test(frame)) return true;
  checkout ??= CHECKOUT.exec(new Error().stack ?? '')?.[1] ?? '';
  const at = checkout === '' ? -1 : frame.indexOf(checkout);
  return at !== -1 && SOURCE.test(frame.slice(at + checkout.length));
}
