/** Logs that are rotated while they are followed, or while nobody sends them; and senders that meet, or die, at the end of a file: each line comes once. */
import {
  appendFileSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FileSender, SentFile } from '@mortise/messaging';
import { connect, until } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import { Channel, first, freshDirectory, lines, textOf } from './files-fixture.js';
import { DeathError, stepwise } from './stepwise-client.js';

const redis = connect();
const [root, removeRoot] = freshDirectory();
afterAll(removeRoot);

let directory: string;
let log: string;
let channel: Channel;
let sender: FileSender;

beforeEach(() => {
  directory = join(root, String(performance.now()));
  mkdirSync(directory);
  log = join(directory, 'access.log');
  channel = new Channel(redis);
  sender = channel.sender({ lingerMs: 5 });
});

/** Does something before each command with such an argument. */
function before(argument: string, act: () => Promise<unknown>): Redis {
  return new Proxy(redis, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name !== 'call') return method;
      return async (...args: unknown[]) => {
        if (args.flat().includes(argument)) await act();
        return method(...args);
      };
    },
  });
}

/** A client whose process dies before the first command with such an argument; and the signal that ends what it was doing. */
function dying(argument: string): { readonly client: Redis; readonly signal: AbortSignal } {
  const death = new AbortController();
  const client = new Proxy(redis, {
    get: (target, name) => {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (name !== 'call') return method;
      return async (...args: unknown[]) => {
        if (args.flat().includes(argument)) death.abort(new DeathError(`died before ${argument}`));
        death.signal.throwIfAborted();
        return method(...args);
      };
    },
  });
  return { client, signal: death.signal };
}

/** All lines that come, of all files, as they come. */
function collect(): { readonly lines: string[]; readonly stop: () => Promise<void> } {
  const found: string[] = [];
  const ending = new AbortController();
  const reading = (async () => {
    for await (const file of channel.receiver().files({ signal: ending.signal })) {
      try {
        for await (const line of file.lines()) found.push(line);
        await file.done();
      } catch (error) {
        if (ending.signal.aborted) throw error;
        found.push((error as { code: string }).code);
        await file.fail();
      }
    }
  })();
  return {
    lines: found,
    stop: async () => {
      ending.abort();
      await reading.catch(() => undefined);
    },
  };
}

const what = ({ bytes, isDuplicate }: SentFile): [number, boolean] => [bytes, isDuplicate];

/** A sender that has sent the log as far as it goes, and is gone. */
async function leftOpen(): Promise<void> {
  const stop = new AbortController();
  const left = channel.sender({ leaseMs: 100, lingerMs: 0 }).send(log, {
    follow: new AbortController().signal,
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
}

describe('at the end of a file', () => {
  test('a sender that looks between what another one has noted and its end changes nothing of it, and sends what has grown', async () => {
    writeFileSync(log, '1\n2\n');
    let hold!: () => void;
    let release!: () => void;
    const isHeld = new Promise<void>((resolve) => (hold = resolve));
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    const slow = before('closed', async () => {
      hold();
      await isReleased;
    });
    const sending = channel.sender({ leaseMs: 60_000 }, slow).send(log);
    await isHeld;
    appendFileSync(log, '3\n');
    const collected = collect();
    const waiting = new Promise<unknown>((onListed) => {
      void sender.send(log, { onListed }).then((sent) => others.push(what(sent)));
    });
    const others: [number, boolean][] = [];
    await waiting;
    release();
    expect(what(await sending)).toEqual([4, false]);
    await until('the other one', () => others.length > 0);
    expect(others).toEqual([[2, false]]);
    expect(what(await sender.send(log))).toEqual([0, true]);
    appendFileSync(log, '4\n');
    expect(what(await sender.send(log))).toEqual([2, false]);
    await sender.received();
    await collected.stop();
    expect(collected.lines).toEqual(['1', '2', '3', '4']);
  });

  test('a sender dies between noting how far it has sent and ending the file, and so does the next one: nothing is sent twice', async () => {
    writeFileSync(log, '1\n');
    await sender.send(log);
    appendFileSync(log, '2\n');
    const { client, signal } = dying('closed');
    const dead = channel.sender({ leaseMs: 100 }, client).send(log, { signal });
    await expect(dead).rejects.toThrow(DeathError);
    const collected = collect();
    await until('what was sent', () => collected.lines.length === 2);
    const stop = new AbortController();
    const next = channel.sender({ leaseMs: 100, lingerMs: 0 }).send(log, {
      follow: new AbortController().signal,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    next.catch(() => undefined);
    appendFileSync(log, '3\n');
    await expect(next).rejects.toMatchObject({ name: 'AbortError' });
    await sender.send(log);
    await sender.received();
    await collected.stop();
    expect(collected.lines).toEqual(['1', '2', '3']);
  });

  test('a sender that noted less than another one that has its lease now changes nothing', async () => {
    writeFileSync(log, '1\n');
    let hold!: () => void;
    let release!: () => void;
    const isHeld = new Promise<void>((resolve) => (hold = resolve));
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    const key = `${channel.prefix}:messaging:{${channel.name}}:files-sent`;
    const slow = new Proxy(redis, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        if (name !== 'call') return method;
        return async (...args: unknown[]) => {
          // The note has the sent paths for its only key.
          if (args.flat()[3] === key && args.flat()[2] === 1) {
            hold();
            await isReleased;
          }
          return method(...args);
        };
      },
    });
    const late = channel.sender({ leaseMs: 100 }, slow).send(log);
    late.catch(() => undefined);
    await isHeld;
    const [[identity, noted]] = Object.entries(await redis.hgetall(key)) as [[string, string]];
    // As of the next writer, who has sent more.
    await redis.hset(key, identity, noted.replace('[0,null,', '[0,9,'));
    release();
    await late;
    expect(await redis.hget(key, identity)).toContain('[0,9,');
  });

  test('a follower waits where the receiver has died that was done with the file, before it was off the list', async () => {
    writeFileSync(log, '1\n');
    await channel.sender().send(log);
    const stored = async (): Promise<string[]> => redis.keys(`${channel.prefix}:*%%*`);
    const dies = stepwise(redis, async (_, send) => {
      if ((await stored()).length === 0) throw new DeathError('died when nothing was left of the file');
      return send();
    });
    const [file, leave] = await first(channel.receiver('r1', dies));
    expect(await textOf(file)).toBe('1\n');
    await expect(file.done()).rejects.toThrow(DeathError);
    await leave().catch(() => undefined);
    const listed = `${channel.prefix}:messaging:{${channel.name}}:files-listed`;
    expect(await redis.hlen(listed)).toBe(1);
    const collected = collect();
    const follow = new AbortController();
    const sent: [number, boolean][] = [];
    await new Promise<unknown>((onListed) => {
      void sender.send(log, { follow: follow.signal, onListed }).then((end) => sent.push(what(end)));
    });
    appendFileSync(log, '2\n');
    await until('the rest, or the end', () => collected.lines.length + sent.length > 0);
    follow.abort();
    await until('the end', () => sent.length > 0);
    expect(sent).toEqual([[2, false]]);
    await sender.received();
    await collected.stop();
    expect(collected.lines).toEqual(['2']);
  });
});

describe('a log that is rotated while it is followed', () => {
  /** Follows the log again and again; and whoever writes it. */
  function following(): { readonly stop: () => Promise<unknown> } {
    const stop = new AbortController();
    const [by, path] = [sender, log];
    const loop = (async () => {
      while (!stop.signal.aborted) await by.send(path, { follow: stop.signal });
    })();
    loop.catch(() => undefined);
    return {
      stop: async () => {
        stop.abort();
        return loop;
      },
    };
  }

  test.each(['there is none for a while', 'the next one is there at once'])(
    'whoever writes it goes on with the old one, and %s: nothing is lost',
    async (how) => {
      let writer = openSync(log, 'a');
      let count = 0;
      const write = (): void => {
        writeSync(writer, `${count++}\n`);
      };
      const collected = collect();
      const has = async (): Promise<unknown> => until('a line', () => collected.lines.length === count);
      write();
      const loop = following();
      await has();
      renameSync(log, `${log}.1`);
      if (how.startsWith('the next')) writeFileSync(log, '');
      // Longer than a log is quiet.
      for (let index = 0; index < 4; index += 1) {
        write();
        await has();
        await redis.blpop(`${channel.prefix}:nothing`, 0.15);
      }
      write();
      closeSync(writer);
      writer = openSync(log, 'a');
      write();
      await has();
      await loop.stop();
      closeSync(writer);
      await collected.stop();
      expect(collected.lines).toEqual(Array.from({ length: count }, (_, index) => `${index}`));
    },
  );

  test('one that is rotated in its turn, and written over, before the one before was read to its end is sent', async () => {
    writeFileSync(log, '1\n');
    const collected = collect();
    sender = channel.sender({ lingerMs: 5, quietMs: 4_000 });
    const loop = following();
    await until('a line', () => collected.lines.length === 1);
    for (const line of ['2', '3', '4']) {
      renameSync(log, `${log}.1`);
      writeFileSync(log, `${line}\n`);
      // Who follows it looks at least once a second.
      await until('its being opened', () => isOpen(log));
    }
    expect(await redis.hget(`${channel.prefix}:messaging:{${channel.name}}:file-channel`, 'last')).toBe('1');
    await until('all', () => collected.lines.length === 4);
    await loop.stop();
    await collected.stop();
    expect(collected.lines).toEqual(['1', '2', '3', '4']);
  });

  test('one that was sent whole, and is quiet when it is rotated: what is written to it later', async () => {
    writeFileSync(log, '1\n');
    await sender.send(log);
    const collected = collect();
    const loop = following();
    await until('its being followed', () => isOpen(log));
    renameSync(log, `${log}.1`);
    writeFileSync(log, '');
    await redis.blpop(`${channel.prefix}:nothing`, 0.3);
    appendFileSync(`${log}.1`, '2\n');
    await until('it', () => collected.lines.length === 2);
    appendFileSync(log, '3\n');
    await until('the next', () => collected.lines.length === 3);
    truncateSync(log);
    // The next file is known by nothing of what stood there before.
    const key = `${channel.prefix}:messaging:{${channel.name}}:files-sent`;
    await until('its end', async () =>
      (await redis.hvals(key)).some((record) => record.includes('[0,null,0,0,')),
    );
    appendFileSync(log, '4\n');
    await until('what was written anew', () => collected.lines.length === 4);
    await loop.stop();
    await collected.stop();
    expect(collected.lines).toEqual(['1', '2', '3', '4']);
  });

  test('a path that names nothing is waited for, until the signal', async () => {
    const follow = new AbortController();
    await expect(sender.send(log)).rejects.toMatchObject({ code: 'ENOENT' });
    const sending = sender.send(log, { follow: follow.signal });
    sending.catch(() => undefined);
    // Asked later, and answered: so is the one before.
    await expect(sender.send(log)).rejects.toMatchObject({ code: 'ENOENT' });
    const [[file, leave]] = await Promise.all([
      first(channel.receiver()),
      (async () => writeFileSync(log, '1\n'))(),
    ]);
    follow.abort();
    expect(what(await sending)).toEqual([2, false]);
    expect(await textOf(file)).toBe('1\n');
    await leave();
    const ended = AbortSignal.timeout(50);
    await expect(sender.send(`${log}.none`, { follow: ended })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

/** Whether this process has the file open that a path names. */
function isOpen(path: string): boolean {
  const { dev, ino } = statSync(path);
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      const found = fstatSync(Number(fd));
      return found.dev === dev && found.ino === ino;
    } catch {
      return false;
    }
  });
}

describe('a file that a sender has left', () => {
  test('is of its host: the same identity on another one is another file', async () => {
    writeFileSync(log, lines(3));
    expect(what(await channel.sender({ host: 'a' }).send(log))).toEqual([lines(3).length, false]);
    expect(what(await channel.sender({ host: 'b' }).send(log))).toEqual([lines(3).length, false]);
    expect(what(await channel.sender({ host: 'a' }).send(log))).toEqual([0, true]);
  });

  test('and was given up by its receivers does not keep another path from being sent', async () => {
    writeFileSync(log, '1\n');
    await leftOpen();
    renameSync(log, `${log}.1`);
    writeFileSync(log, '2\n');
    const [file, leave] = await first(channel.receiver());
    await file.fail();
    await leave();
    expect(what(await sender.send(log))).toEqual([2, false]);
    const collected = collect();
    await sender.received();
    await collected.stop();
    expect(collected.lines).toEqual(['2']);
  });

  test.each([
    { where: 'below', isWhole: false },
    { where: 'deep/below', isWhole: true },
  ])('and is in the directory $where now is sent on from there', async ({ where, isWhole }) => {
    writeFileSync(log, '1\n');
    await leftOpen();
    mkdirSync(join(directory, where), { recursive: true });
    renameSync(log, join(directory, where, 'access.log.1'));
    writeFileSync(log, '2\n');
    await (isWhole ? sender.sendDirectory(directory) : sender.send(log));
    const collected = collect();
    await sender.sendDirectory(directory);
    await sender.received();
    await collected.stop();
    expect(collected.lines).toEqual(['1', '2']);
  });

  test('between aborting it and freeing its id can be sent again', async () => {
    const source = (async function* breaksOff() {
      yield Buffer.from('1\n');
      throw new Error('EIO');
    })();
    const { client, signal } = dying('zremrangebyscore');
    const dead = channel.sender({}, client).send(source, { name: 'a', id: 'a', signal });
    await expect(dead).rejects.toThrow(/EIO|died/);
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await file.fail();
    await leave();
    expect(what(await sender.send(Buffer.from('1\n2\n'), { name: 'a', id: 'a' }))).toEqual([4, false]);
  });
});
