/** Jobs by their keys, `prefix:queue:id`. */
import type { JobHost } from './host.js';
import { Job } from './job.js';
import { hostOf } from './queue-host.js';

export function decodeJobKey(host: JobHost, key: string): Promise<Job | undefined> {
  const { store, id } = host.storeOfKey(key);
  return Job.fromId(hostOf(store, host), id);
}
