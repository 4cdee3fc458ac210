import { taskHeaders } from '@mortise/app-common/log';

import { MAX_HEADERS_BYTES } from './schemas.js';

type Headers = Readonly<Record<string, string>>;

/** The headers of a new task, with the id of the request that runs; a task keeps its own, and headers that leave no room. */
export function requestHeadersOf(given?: Headers): { headers?: Headers } {
  if (given === undefined) return taskHeaders();
  const headers = { ...taskHeaders().headers, ...given };
  return { headers: Buffer.byteLength(JSON.stringify(headers)) <= MAX_HEADERS_BYTES ? headers : given };
}
