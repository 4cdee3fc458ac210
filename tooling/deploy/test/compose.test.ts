import { expect, test } from '@jest/globals';
import { composeWith } from '../src/compose.js';
import { APPS } from '../src/repository.js';
import { settingsOf, stopMs } from '../src/settings.js';

const SECRETS = {
  REDIS_PASSWORD: 'redis1',
  POSTGRES_PASSWORD: 'postgres1',
  ADMIN_KEY: 'mk_admin_0123456789012345678901',
};
const { services, configs, networks } = composeWith(SECRETS);

test('secrets have no default', () => {
  for (const name of Object.keys(SECRETS))
    expect(() => composeWith({ ...SECRETS, [name]: '' })).toThrow(`${name} is not set`);
});

test.each(APPS)('the %s gets settings that it has, and the time that it needs to stop', (app) => {
  const { environment, stop_grace_period: grace, build } = services[app]!;
  expect(build!.dockerfile).toBe(`deploy/docker/${app}.Dockerfile`);
  expect([...settingsOf(app).keys()]).toEqual(expect.arrayContaining(Object.keys(environment)));
  expect(Number.parseInt(grace, 10) * 1_000).toBeGreaterThan(stopMs(app, environment) + 2_000);
});

test.each(APPS)('the %s writes nothing to its root and has no privilege', (app) => {
  expect(services[app]).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
});

test('only the API can be reached from outside, and only from this host', () => {
  expect(services['api']!.ports).toEqual(['127.0.0.1:3000:3000']);
  for (const name of ['worker', 'redis', 'postgres']) expect(services[name]!.ports).toBeUndefined();
  expect(networks['data']).toEqual({ internal: true });
  for (const name of ['redis', 'postgres']) expect(services[name]!.networks).toEqual(['data']);
});

test('a service waits only for services with a health check', () => {
  for (const { depends_on: needed = {} } of Object.values(services))
    for (const name of Object.keys(needed)) expect(services[name]!.healthcheck).toBeDefined();
});

test('Redis has a password, keeps what it has accepted, and evicts nothing', () => {
  expect(configs['redis']!.content.split('\n')).toEqual(
    expect.arrayContaining(['requirepass redis1', 'appendonly yes', 'maxmemory-policy noeviction']),
  );
  expect(services['redis']!.volumes).toEqual(['redis:/data']);
});
