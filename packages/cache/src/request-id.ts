import { randomBytes } from 'node:crypto';

const PROCESS = /* @__PURE__ */ randomBytes(6).toString('base64url');
let requests = 0;

/** Names one call of a script, unique among all processes: so the script notices that a call is sent again. */
export function requestId(): string {
  requests += 1;
  return PROCESS + requests.toString(36);
}
