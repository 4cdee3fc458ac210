/** The servers of `npm run test:protected`, and what the tests have to know of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './pnpm.mjs';

const USER = { username: 'application', password: 'secret' };
const ADMIN_PASSWORD = 'administrator';
const SENTINEL_PASSWORD = 'sentinel';

/** The rights of the document, with the prefixes of tests and of examples beside the default one. */
export function documentedRights() {
  const page = readFileSync(join(root, 'docs/operations/redis.md'), 'utf8');
  const [, rules] = /ACL SETUSER mortise on '>secret' (.*)$/m.exec(page) ?? [];
  if (!rules) throw new Error('docs/operations/redis.md has no line with ACL SETUSER mortise');
  return rules
    .replaceAll("'", '')
    .split(' ')
    .flatMap((rule) =>
      /^[~&]mortise/.test(rule) ? [rule, rule.replace('mortise', 'test'), `${rule[0]}example*`] : [rule],
    );
}

async function addUser(server) {
  const rights = documentedRights();
  await server.command('ACL', 'SETUSER', USER.username, 'reset', 'on', `>${USER.password}`, ...rights);
}

/** Three masters that speak only TLS. Every user has a password. */
async function startCluster({ makeCertificate, startCluster: start }) {
  const certificate = await makeCertificate();
  const cluster = await start({ replicasPerMaster: 0, password: ADMIN_PASSWORD, certificate });
  await Promise.all(cluster.nodes.map(addUser));
  return {
    masters: cluster.startupNodes,
    env: { NODE_EXTRA_CA_CERTS: certificate.caFile },
    stop: async () => {
      await cluster.stop();
      certificate.remove();
    },
  };
}

/** A master with two replicas and three sentinels. Users of the servers and of the sentinels have passwords. */
async function startSentinel({ startSentinel: start }) {
  const group = await start({ password: ADMIN_PASSWORD, sentinelPassword: SENTINEL_PASSWORD });
  await Promise.all(group.servers.map(addUser));
  const { host, port } = await group.master();
  return {
    masters: [{ host, port }],
    sentinel: { name: group.name, sentinels: group.sentinels, sentinelPassword: SENTINEL_PASSWORD },
    env: {},
    stop: () => group.stop(),
  };
}

export const START = { cluster: startCluster, sentinel: startSentinel };

/** The variables of a test run. */
export function environmentOf({ masters, sentinel, env }) {
  const isTls = !sentinel;
  const [{ host, port }] = masters;
  const { username, password } = USER;
  return {
    ...env,
    REDIS_URL: `${isTls ? 'rediss' : 'redis'}://${username}:${password}@${host}:${port}`,
    MORTISE_PROTECTED: JSON.stringify({
      masters,
      isTls,
      user: USER,
      adminPassword: ADMIN_PASSWORD,
      sentinel,
    }),
  };
}
