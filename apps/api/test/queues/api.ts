/** The routes of queues, and the queues as programs that use the package see them. */
import { Queue } from '@mortise/queues';
import { connect } from '@mortise/test-kit';

import type { Answer } from '../fixture/api.js';
import { startApi } from '../fixture/api.js';

export const redis = connect();
export const api = await startApi();
export const { prefix } = api;

export const ask = (method: string, path: string, body?: object, headers = {}, at = api): Promise<Answer> =>
  at.send({ method, path: `/v1/queues${path}`, headers, ...(body && { body }) });
export const get = (path: string): Promise<Answer> => ask('GET', path);
export const post = (path: string, body?: object, headers = {}): Promise<Answer> =>
  ask('POST', path, body, headers);
export const slugOf = ({ status, json }: Answer): [number, string] => [status, json.type.split('/').at(-1)];
export const queueOf = (name: string): Queue => new Queue(redis, name, { prefix });
