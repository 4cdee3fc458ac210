/** A server in memory behind a port, for clients of other libraries, languages and processes. RESP2, and pushes of RESP3. */
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { MemoryServer, Session } from './memory-server.js';
import type { Reply } from './reply.js';
import { OK, ReplyError, Status } from './reply.js';

const LINE_END = '\r\n';

function bulk(text: string): string {
  return `$${text.length}${LINE_END}${text}${LINE_END}`;
}

function encode(reply: Reply): string {
  if (reply === null) return `$-1${LINE_END}`;
  if (typeof reply === 'number') return `:${reply}${LINE_END}`;
  if (typeof reply === 'string') return bulk(reply);
  if (reply instanceof Status) return `+${reply.text}${LINE_END}`;
  if (reply instanceof ReplyError) return `-${reply.message.replaceAll(/[\r\n]/g, ' ')}${LINE_END}`;
  return `*${reply.length}${LINE_END}${reply.map(encode).join('')}`;
}

/** Takes the first command of the text; undefined while it isn't whole. */
function takeCommand(text: string, from: number): { words: string[]; end: number } | undefined {
  let at = from;
  const line = (): string | undefined => {
    const end = text.indexOf(LINE_END, at);
    if (end < 0) return undefined;
    const found = text.slice(at, end);
    at = end + LINE_END.length;
    return found;
  };
  const head = line();
  if (head === undefined) return undefined;
  if (!head.startsWith('*')) return { words: head.split(' ').filter(Boolean), end: at };
  const words: string[] = [];
  for (let left = Number(head.slice(1)); left > 0; left -= 1) {
    const size = line();
    if (size === undefined) return undefined;
    const length = Number(size.slice(1));
    if (text.length < at + length + LINE_END.length) return undefined;
    words.push(text.slice(at, at + length));
    at += length + LINE_END.length;
  }
  return { words, end: at };
}

const KINDS = { plain: 'message', shard: 'smessage' } as const;

class RespConnection {
  readonly #server: MemoryServer;
  readonly #socket: Socket;
  readonly #session: Session;
  #text = '';
  #protocol = 2;
  #queued: string[][] | undefined;
  #out = '';

  constructor(server: MemoryServer, socket: Socket) {
    this.#server = server;
    this.#socket = socket;
    this.#session = server.connect(
      (kind, channel, message) => this.#push([KINDS[kind], channel, message]),
      `${socket.remoteAddress ?? ''}:${socket.remotePort ?? ''}`,
    );
    socket.setNoDelay(true);
    socket.on('data', (data) => this.#read(data));
    socket.on('error', () => socket.destroy());
    // A client that has left listens to nothing, even before its socket is closed.
    socket.on('end', () => server.disconnect(this.#session));
    socket.on('close', () => server.disconnect(this.#session));
  }

  #read(data: Buffer): void {
    this.#text += data.toString('latin1');
    let at = 0;
    for (let next = takeCommand(this.#text, at); next; next = takeCommand(this.#text, at)) {
      at = next.end;
      if (next.words.length > 0) this.#take(next.words);
    }
    this.#text = this.#text.slice(at);
    this.#flush();
  }

  #flush(): void {
    if (this.#out !== '' && !this.#socket.destroyed) this.#socket.write(this.#out, 'latin1');
    this.#out = '';
  }

  #push(words: Reply[]): void {
    const text = encode(words);
    this.#out += this.#protocol === 3 ? `>${text.slice(1)}` : text;
    queueMicrotask(() => this.#flush());
  }

  #take([command, ...args]: string[]): void {
    const name = command!.toLowerCase();
    if (this.#queued && !['exec', 'discard', 'multi'].includes(name)) {
      this.#queued.push([name, ...args]);
      this.#out += encode(new Status('QUEUED'));
    } else {
      // A command may push to its own connection: before its reply.
      const answer = this.#answer(name, args);
      this.#out += answer;
    }
  }

  #answer(name: string, args: readonly string[]): string {
    switch (name) {
      case 'hello':
        if (args[0] !== undefined) this.#protocol = Number(args[0]);
        return this.#hello();
      case 'multi':
        this.#queued = [];
        return encode(OK);
      case 'discard':
        this.#queued = undefined;
        return encode(OK);
      case 'watch':
      case 'unwatch':
        return encode(OK);
      case 'exec': {
        const queued = this.#queued ?? [];
        this.#queued = undefined;
        const answers = this.#server.together(() =>
          queued.map(([each, ...rest]) => this.#answer(each!, rest)),
        );
        return `*${queued.length}${LINE_END}${answers.join('')}`;
      }
      case 'monitor':
        this.#monitor();
        return encode(OK);
      case 'quit':
        // As Redis does, and not only when the client has closed its end: a message that follows would count it as a listener.
        this.#server.disconnect(this.#session);
        this.#socket.end(this.#out + encode(OK), 'latin1');
        this.#out = '';
        return '';
      case 'subscribe':
      case 'ssubscribe':
      case 'unsubscribe':
      case 'sunsubscribe':
        return this.#subscriptions(name, args);
      default:
        return encode(this.#execute(name, args));
    }
  }

  #execute(name: string, args: readonly string[]): Reply {
    try {
      return this.#server.execute(this.#session, name, args);
    } catch (error) {
      if (error instanceof ReplyError) return error;
      return new ReplyError(`ERR in-memory Redis: ${String(error)}`);
    }
  }

  #hello(): string {
    const fields: Reply[] = [
      'server',
      'redis',
      'version',
      '7.4.0',
      'proto',
      this.#protocol,
      'id',
      this.#session.id,
    ];
    fields.push('mode', 'standalone', 'role', 'master', 'modules', []);
    const text = encode(fields);
    return this.#protocol === 3 ? `%${fields.length / 2}${text.slice(text.indexOf(LINE_END))}` : text;
  }

  /** One confirmation for each channel. */
  #subscriptions(name: string, channels: readonly string[]): string {
    const kind = name.startsWith('s') && !name.startsWith('sub') ? 'shard' : 'plain';
    const isEnd = name.includes('unsub');
    const named =
      channels.length > 0 || !isEnd ? channels : this.#server.pubSub.channelsOf(this.#session, kind);
    let text = '';
    for (const channel of named) {
      const count = this.#execute(name, [channel]);
      const confirmed = encode([name, channel, count]);
      text += this.#protocol === 3 ? `>${confirmed.slice(1)}` : confirmed;
    }
    return text;
  }

  #monitor(): void {
    const { observers } = this.#server;
    const observe = (command: string, args: readonly string[], source: Session | 'lua'): void => {
      const from = source === 'lua' ? 'lua' : source.address;
      const words = [command, ...args].map(quoted).join(' ');
      this.#out += `+${(this.#server.store.now / 1_000).toFixed(6)} [0 ${from}] ${words}${LINE_END}`;
      queueMicrotask(() => this.#flush());
    };
    observers.add(observe);
    this.#socket.on('close', () => observers.delete(observe));
  }
}

function quoted(text: string): string {
  const inside = text.replaceAll(/[^ !#-[\]-~]/g, (char) => {
    if (char === '"' || char === '\\') return `\\${char}`;
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u0007': '\\a', '\b': '\\b' }[char];
    return short ?? `\\x${char.codePointAt(0)!.toString(16).padStart(2, '0')}`;
  });
  return `"${inside}"`;
}

export interface ListeningServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves on the loopback interface. @param port 0: a free one. */
export async function listen(server: MemoryServer, port = 0): Promise<ListeningServer> {
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    void new RespConnection(server, socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.on('error', reject);
    listener.listen(port, '127.0.0.1', resolve);
  });
  const bound = (listener.address() as AddressInfo).port;
  return {
    url: `redis://127.0.0.1:${bound}`,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        listener.close(() => resolve());
      }),
  };
}
