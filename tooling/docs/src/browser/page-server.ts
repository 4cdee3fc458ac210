/** The server of a page of a browser: its HTML, its program, the API below `/v1/`, and what the document hides for it. */
import { once } from 'node:events';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { ADMIN_KEY } from '../api-process.js';

/** The default export of a hidden `<!-- server`. It may also listen on the server itself. */
export type HiddenServer = (server: Server, context: { readonly key: string }) => RequestListener | undefined;

export interface PageServer extends AsyncDisposable {
  readonly url: string;
}

export async function servePage(
  elements: string,
  program: string,
  hidden: HiddenServer | undefined,
  apiPort: string,
): Promise<PageServer> {
  const server = createServer();
  const handler = hidden?.(server, { key: ADMIN_KEY });
  server.prependListener('request', (request, response) => {
    const url = request.url ?? '/';
    if (url === '/') respond(response, 'text/html', htmlOf(elements));
    else if (url === '/program.js') respond(response, 'text/javascript', program);
    else if (url.startsWith('/v1/')) passOn(request, response, apiPort);
    else if (handler) handler(request, response);
    // Without a handler, a listener of the hidden server answers.
    else if (server.listenerCount('request') === 1) response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function respond(response: ServerResponse, type: string, body: string): void {
  response.setHeader('content-type', `${type}; charset=utf-8`).end(body);
}

function htmlOf(elements: string): string {
  const icon = '<link rel="icon" href="data:,">';
  return `<!doctype html><meta charset="utf-8">${icon}<div id="root"></div>${elements}<script type="module" src="/program.js"></script>`;
}

/** As a session of the operator. */
function passOn(request: IncomingMessage, response: ServerResponse, port: string): void {
  const { host: _, origin: __, ...headers } = request.headers;
  const passed = send(
    {
      port,
      host: '127.0.0.1',
      method: request.method,
      path: request.url,
      headers: { ...headers, authorization: `Bearer ${ADMIN_KEY}` },
    },
    (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    },
  );
  passed.once('error', () => response.destroy());
  response.once('close', () => passed.destroy());
  request.pipe(passed);
}
