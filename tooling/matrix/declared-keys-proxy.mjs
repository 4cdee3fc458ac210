/**
 * A server that refuses every key that a script doesn't declare, as Dragonfly does. Redis itself refuses only those of other slots. So a
 * proxy makes an ACL user for each connection, and narrows it to the declared keys around each script: before EVALSHA it sends
 * `ACL SETUSER … resetkeys %RW~key …`, after it `allkeys`, on the same connection, hence in this order. The replies to what it
 * sends itself don't reach the client. A command of the script that touches another key fails with "ACL failure in script".
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { commandOf, encodeCommand, RespFrames } from './resp-frames.mjs';

const SCRIPTS = new Map([
  ['eval', '%RW~'],
  ['evalsha', '%RW~'],
  ['fcall', '%RW~'],
  ['eval_ro', '%R~'],
  ['evalsha_ro', '%R~'],
  ['fcall_ro', '%R~'],
]);
const SUBSCRIPTIONS = new Set([
  'subscribe',
  'psubscribe',
  'ssubscribe',
  'unsubscribe',
  'punsubscribe',
  'sunsubscribe',
]);

/** Resolves once a script with an undeclared key was refused, so that a proxy that lets everything pass is noticed. */
export async function startDeclaredKeysProxy(server) {
  const problems = [];
  const sockets = new Set();
  const seen = { scripts: 0 };
  let users = 0;
  const proxy = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: server.host, port: server.port, noDelay: true });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    link(client, upstream, `declared-${(users += 1)}`, problems, seen);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address();
  await requireRefusal(port);
  seen.scripts = 0;
  return {
    host: '127.0.0.1',
    port,
    /** Failures of the proxy itself: with one, a cell proves nothing. */
    problems: () => (seen.scripts === 0 ? [...problems, 'no script passed the proxy'] : problems),
    stop: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function link(client, upstream, user, problems, seen) {
  const requests = new RespFrames();
  const replies = new RespFrames();
  /** For each reply to come: whether the client gets it. */
  const expected = [];
  let isResp3 = false;
  let isRaw = false;
  const send = (isForClient, frame) => {
    expected.push(isForClient);
    upstream.write(frame);
  };
  const own = (...words) => send(false, encodeCommand(words));
  own('ACL', 'SETUSER', user, 'reset', 'on', 'nopass', 'allkeys', 'allchannels', '+@all');
  own('AUTH', user, 'any');

  client.on('data', (chunk) => {
    if (isRaw) {
      upstream.write(chunk);
      return;
    }
    for (const frame of requests.push(chunk)) {
      const words = commandOf(frame);
      const name = words[0].toString().toLowerCase();
      if (name === 'hello' && words[1]?.toString() === '3') isResp3 = true;
      const access = SCRIPTS.get(name);
      if (access !== undefined) {
        seen.scripts += 1;
        const keys = words.slice(3, 3 + Number(words[2]));
        own('ACL', 'SETUSER', user, 'resetkeys', ...keys.map((key) => access + patternOf(key)));
        send(true, frame);
        own('ACL', 'SETUSER', user, 'allkeys');
      } else if (name === 'multi') {
        problems.push('MULTI: the proxy could not narrow a script in it');
        client.destroy();
      } else if (SUBSCRIPTIONS.has(name) && isResp3) {
        upstream.write(frame); // answered by pushes
      } else if (SUBSCRIPTIONS.has(name)) {
        // In RESP2 this connection sends no script any more; as many replies as channels, then messages.
        isRaw = true;
        upstream.write(frame);
      } else send(true, frame);
    }
    if (isRaw) upstream.write(requests.rest);
  });

  upstream.on('data', (chunk) => {
    for (const frame of replies.push(chunk)) {
      const type = String.fromCharCode(frame[0]);
      const isForClient = type === '>' || (expected.shift() ?? true);
      if (isForClient) client.write(frame);
      else if (type === '-') problems.push(frame.toString().trim());
    }
  });
}

/** A pattern that only this key matches; ACL takes no space in a pattern, so that any character may stand for one. */
function patternOf(key) {
  return key
    .toString('latin1')
    .replaceAll(/[*?[\]\\^]/g, String.raw`\$&`)
    .replaceAll(/\s/g, '?');
}

async function requireRefusal(port) {
  const ask = async (...words) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.write(encodeCommand(words));
    const [reply] = await once(socket, 'data');
    socket.destroy();
    return reply.toString();
  };
  const script = "return redis.call('GET', ARGV[1])";
  const declared = await ask('EVAL', script, '1', 'matrix-a', 'matrix-a');
  const undeclared = await ask('EVAL', script, '1', 'matrix-a', 'matrix-b');
  if (declared.startsWith('-')) throw new Error(`a declared key was refused: ${declared}`);
  if (!/can't access at least one of the keys|ACL failure|NOPERM/.test(undeclared))
    throw new Error(`an undeclared key was not refused: ${undeclared}`);
}
