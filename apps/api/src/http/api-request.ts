/**
 * Decides which requests become WebSockets. Once a server listens for upgrades, Node passes every request that offers one
 * to that listener: the request gets no answer, and its body is lost. The HTTP client of Java offers HTTP/2 with its first
 * request. So the API accepts the offer at the address of the WebSocket only, and ignores it elsewhere.
 */
import { IncomingMessage } from 'node:http';

const SOCKET_PATH = '/v1/ws';

/** Node sets it on every request, in the constructor before private members exist. */
const offers = new WeakSet<IncomingMessage>();

export class ApiRequest extends IncomingMessage {
  /** Node sets what the client offers, and reads the decision. */
  get upgrade(): boolean {
    return offers.has(this) && (this.method === 'CONNECT' || isForSocket(this));
  }

  set upgrade(isOffered: boolean) {
    if (isOffered) offers.add(this);
    else offers.delete(this);
  }
}

function isForSocket({ method, url = '', headers }: IncomingMessage): boolean {
  const isThere = url === SOCKET_PATH || url.startsWith(`${SOCKET_PATH}?`);
  return isThere && method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}
