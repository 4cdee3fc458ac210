// The smallest Redis client that administers a server: one connection for each command, RESP2, no dependency. ioredis was
// rejected here because this package starts the servers that the tests of ioredis' users run against, and must be able to talk
// to nodes that are down, paused or not yet in a cluster without reconnects, retries or redirections of its own.

import { readFileSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { ReplyError } from './errors.js';

/** A reply as RESP2 has it: maps are flat arrays, errors inside arrays are their text. */
export type Reply = string | number | null | Reply[];

export interface RequestOptions {
  /** Encoding of arguments and replies; `latin1` keeps bytes as they are. @defaultValue 'utf8' */
  encoding?: 'utf8' | 'latin1';
  /** @defaultValue 30000 */
  timeoutMs?: number;
  /** Logs in first, as the user `default`. */
  password?: string | undefined;
  /** The authority of a server that speaks TLS. */
  caFile?: string | undefined;
}

/** Sends one command to a server on this machine. Throws {@link ReplyError} for an error reply. */
export function request(port: number, args: string[], options: RequestOptions = {}): Promise<Reply> {
  const { encoding = 'utf8', timeoutMs = 30_000, password, caFile } = options;
  let isLoggingIn = password !== undefined;
  return new Promise((resolve, reject) => {
    const what = `${args[0]} to 127.0.0.1:${port}`;
    const socket = connect(port, caFile);
    let received: Buffer = Buffer.alloc(0);
    const settle = (outcome: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      outcome();
    };
    const timer = setTimeout(() => {
      settle(() => reject(new Error(`${what}: no reply in ${timeoutMs} ms`)));
    }, timeoutMs);
    socket.on('error', (error) =>
      settle(() => reject(new Error(`${what}: ${error.message}`, { cause: error }))),
    );
    socket.on('close', () =>
      settle(() => reject(new Error(`${what}: the connection closed before the reply`))),
    );
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      let parsed = parse(received, 0, encoding);
      if (isLoggingIn && parsed?.isError === false) {
        isLoggingIn = false;
        received = received.subarray(parsed.end);
        parsed = parse(received, 0, encoding);
      }
      if (parsed === undefined) return;
      settle(() => {
        if (parsed.isError) reject(new ReplyError(String(parsed.value)));
        else resolve(parsed.value);
      });
    });
    if (password !== undefined) socket.write(encode(['AUTH', password], encoding));
    socket.write(encode(args, encoding));
  });
}

function connect(port: number, caFile: string | undefined): Socket {
  const address = { host: '127.0.0.1', port, noDelay: true };
  return caFile === undefined ? connectPlain(address) : connectTls({ ...address, ca: readFileSync(caFile) });
}

function encode(args: string[], encoding: BufferEncoding): Buffer {
  const parts = [Buffer.from(`*${args.length}\r\n`)];
  for (const arg of args) {
    const bytes = Buffer.from(arg, encoding);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

interface Parsed {
  value: Reply;
  isError: boolean;
  end: number;
}

/** Parses the reply that begins at `start`; `undefined` when it isn't complete yet. */
function parse(bytes: Buffer, start: number, encoding: BufferEncoding): Parsed | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const line = bytes.toString(encoding, start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (String.fromCharCode(bytes[start] ?? 0)) {
    case '+':
      return { value: line, isError: false, end };
    case '-':
      return { value: line, isError: true, end };
    case ':':
      return { value: Number(line), isError: false, end };
    case '$': {
      const length = Number(line);
      if (length === -1) return { value: null, isError: false, end };
      if (bytes.length < end + length + 2) return undefined;
      return { value: bytes.toString(encoding, end, end + length), isError: false, end: end + length + 2 };
    }
    case '*': {
      if (line === '-1') return { value: null, isError: false, end };
      const items: Reply[] = [];
      let at = end;
      while (items.length < Number(line)) {
        const item = parse(bytes, at, encoding);
        if (item === undefined) return undefined;
        items.push(item.value);
        at = item.end;
      }
      return { value: items, isError: false, end: at };
    }
    default:
      throw new Error(`not a RESP2 reply: ${JSON.stringify(line)}`);
  }
}
