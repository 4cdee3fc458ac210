/**
 * The JSON of a body. A framework may have parsed it already, and a number that it has rounded does not show that. So the bytes
 * count where they can be had: from the request, or as the `rawBody` that a framework keeps beside the value. Of a value alone, a whole
 * number that JavaScript may have rounded is refused.
 */
import type { IncomingMessage } from 'node:http';

import { inexactNumber } from '@mortise/redis';

import { Problem } from './problem.js';

const MAX_BODY_BYTES = 1_048_576;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A request as its framework has it. */
export interface Parsed {
  readonly body?: unknown;
  /** Of NestJS with `rawBody`, of fastify-raw-body, and of hosts that keep it themselves. */
  readonly rawBody?: unknown;
}

/** Undefined without a body. Throws problems. */
export async function jsonBody(request: IncomingMessage, given: Parsed): Promise<unknown> {
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (length === undefined || length === '0')) return undefined;
  // A form of another page could send any other type.
  if (!/^application\/json(?:\s*;|$)/i.test(type ?? '')) throw new Problem('unsupported-media-type');
  const { rawBody } = given.rawBody === undefined ? (request as Parsed) : given;
  const { body } = given;
  for (const raw of [rawBody, body]) if (isText(raw)) return valueOf(textOf(raw));
  if (body === undefined) return valueOf(textOf(await bytesOf(request)));
  requireExact(body);
  return body;
}

function isText(raw: unknown): raw is string | Uint8Array {
  return typeof raw === 'string' || raw instanceof Uint8Array;
}

function textOf(raw: string | Uint8Array): string {
  if (Buffer.byteLength(raw) > MAX_BODY_BYTES) throw tooLarge();
  if (typeof raw === 'string') return raw;
  try {
    return utf8.decode(raw);
  } catch {
    throw new Problem('malformed-json');
  }
}

function valueOf(text: string): unknown {
  if (text === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem('malformed-json');
  }
  const problem = inexactNumber(text);
  if (problem !== undefined) throw new Problem('invalid-body', `the body ${problem}`);
  return value;
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  if (request.readableDidRead)
    throw new Problem('body-consumed', 'mount the console before the code that reads bodies');
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // A destroyed request would take the answer with it.
    const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new Problem('malformed-request', '', {}, { cause: error });
  }
  if (bytes > MAX_BODY_BYTES) throw tooLarge();
  return Buffer.concat(chunks);
}

function tooLarge(): Problem {
  return new Problem('body-too-large', `more than ${MAX_BODY_BYTES} bytes`);
}

/** Goes through the levels of a value, as deep as it may be. */
function requireExact(value: unknown): void {
  let level: unknown[] = [value];
  while (level.length > 0) {
    if (level.some(mayBeRounded))
      throw new Problem(
        'rounded-body',
        'a whole number beyond 2^53 came through the parser of the host: send it as a text, or mount the console before the parser',
      );
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
}

/** Each fraction is below 2^53, and whole numbers up to there are exact. */
function mayBeRounded(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}
