import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { io as connect } from 'socket.io-client';

const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const io = new Server(server);
io.on('connection', async (socket) => {
  await socket.join('lunch');
  socket.on('post', (body: string, done: () => void) => {
    io.to('lunch').emit('message', body);
    done();
  });
});

const jill = connect(url, { forceNew: true });

/** The browser of Jack, until it has shown what Jill posts now. */
async function show(last: string): Promise<void> {
  const jack = connect(url, { forceNew: true });
  jack.on('connect', () => void jill.emitWithAck('post', last));
  await new Promise<void>((resolve) => {
    jack.on('message', (body: string) => {
      console.log('jack gets', body);
      if (body === last) resolve();
    });
  });
  jack.disconnect();
}

await show('Lunch?');
await jill.emitWithAck('post', 'At noon?');
await show('Or at one?');

jill.disconnect();
await io.close();

// Output:
// jack gets Lunch?
// jack gets Or at one?
