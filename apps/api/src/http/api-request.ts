/**
 * Which requests become WebSockets. As soon as anybody listens for upgrades, Node hands over every request that offers
 * one, so that nobody answers it, and its body is lost: the HTTP client of Java offers HTTP/2 with its first request. So
 * the offer is heard only where there is a WebSocket; elsewhere it is what it may be, an offer that isn't taken.
 */
import { IncomingMessage } from 'node:http';

export const SOCKET_PATH = '/v1/ws';

/** Node sets it on every request, and the constructor before there are private members. */
const offers = new WeakSet<IncomingMessage>();

export class ApiRequest extends IncomingMessage {
  /** Node sets what the client offers, and reads what is to be done. */
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
