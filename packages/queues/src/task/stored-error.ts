/**
 * Why an attempt failed or a task was cancelled, as text in its entry of `attempts`:
 *
 *   \x02 · name · a space and the code, if it has one · \n · message · \0 · frames of the stack
 *
 * Its beginning can be read alone, since events have the first 512 bytes. Reasons of scripts and cancellations are plain
 * messages.
 */
import { inspect } from 'node:util';
import { CodedError, withoutLink } from '@mortise/redis';
import type { TaskError } from '../task-error.js';
import { errorText } from './handed-back.js';
import { userFrames } from './user-frames.js';

const MARK = '\u0002';
const MAX_CHARACTERS = 2_000;
const MAX_MESSAGE = 1_000;
const MAX_NAME = 100;

/** The text of a thrown value, which may be anything. Never throws. */
export function storeError(thrown: unknown): string {
  const { name, code, message, stack, isOurs } = fieldsOf(thrown);
  const head = `${MARK}${word(name)}${code === undefined ? '' : ` ${word(code)}`}\n${cut(message, stack === '' ? MAX_CHARACTERS : MAX_MESSAGE)}`;
  let text = head.replaceAll('\0', ' ');
  let separator = '\0';
  for (const frame of userFrames(stack, isOurs ?? false)) {
    if (text.length + frame.length >= MAX_CHARACTERS) break;
    text += separator + frame;
    separator = '\n';
  }
  return text;
}

/** The error in an entry of `attempts`, which may be cut off. `cancelled`: its plain message is the reason of a cancellation. */
export function readError(data: string, cancelled = false): TaskError {
  const text = errorText(data);
  if (!text.startsWith(MARK)) {
    return cancelled
      ? { ...errorOf('TaskCancelledError', text, ''), code: 'ERR_TASK_CANCELLED' }
      : errorOf('Error', text, '');
  }
  const head = text.indexOf('\n');
  const [name = '', code] = text.slice(1, head === -1 ? undefined : head).split(' ');
  const [message = '', frames = ''] = (head === -1 ? '' : text.slice(head + 1)).split('\0');
  return { ...errorOf(name, message, frames), ...(code !== undefined && { code }) };
}

/** Its first line, for people. */
export function errorLine({ name, message }: TaskError): string {
  return `${name}: ${message}`.split('\n', 1)[0]!;
}

function errorOf(name: string, message: string, frames: string): TaskError {
  const head = message === '' ? name : `${name}: ${message}`;
  return { name, message, stack: frames === '' ? head : `${head}\n${frames}` };
}

interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack: string;
  /** Mortise made it. */
  readonly isOurs?: boolean;
}

function fieldsOf(thrown: unknown): Thrown {
  try {
    if (thrown instanceof Error) {
      // A thrown error may have fields of any type.
      const { name, message, code, stack } = thrown as Readonly<Record<keyof Thrown, unknown>>;
      return {
        name: String(name),
        // The code is stored beside it.
        message: withoutLink(String(message)),
        ...(typeof code === 'string' && code !== '' && { code }),
        stack: typeof stack === 'string' ? stack : '',
        isOurs: thrown instanceof CodedError,
      };
    }
    const message = typeof thrown === 'string' ? thrown : inspect(thrown, { maxStringLength: MAX_MESSAGE });
    return { name: 'Error', message, stack: '' };
  } catch {
    return { name: 'Error', message: `an error that cannot be shown (${typeof thrown})`, stack: '' };
  }
}

/** A name or a code, as one word. */
function word(text: string): string {
  return cut(text.replaceAll(/\s+/g, '_'), MAX_NAME) || 'Error';
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
