// PostgreSQL refuses to run as root. Where this process is root, the server runs as `nobody`, who owns nothing but the directory
// that is made for it. Rejected: su and setpriv, which are one process more between us and the server, and which not every
// system has; the kernel does the same for a child that is spawned with a uid.

import { run, type Environment } from '@mortise/server-process';

export interface User {
  uid: number;
  gid: number;
}

/** Whom servers run as: nobody when this process is root, else `undefined`, which means the user of this process. */
export async function serverUser(env: Environment): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const [uid, gid] = await Promise.all(['-u', '-g'].map((what) => run('id', [what, 'nobody'], { env })));
  return { uid: Number(uid), gid: Number(gid) };
}
