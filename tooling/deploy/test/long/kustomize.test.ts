/** The overlays as kubectl renders them. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { lastStep, stagesOf, variablesOf } from '../../src/dockerfile.js';
import {
  deploymentsOf,
  environmentOf,
  type KubernetesObject,
  objectsIn,
  OVERLAYS,
  rendered,
} from '../../src/kubernetes.js';
import { problemsOf } from '../../src/pods.js';
import { APPS } from '../../src/repository.js';
import { settingsOf, stopMs } from '../../src/settings.js';

const here = fileURLToPath(new URL('../..', import.meta.url));
const SECRET = {
  REDIS_URL: 'redis://redis:6379',
  REDIS_PASSWORD: 'redis1',
  SMTP_URL: 'smtp://mail.example.com',
  ADMIN_KEY: 'mk_admin_0123456789012345678901',
};

describe.each(OVERLAYS)('the overlay of %s', (overlay) => {
  const objects = rendered(`overlays/${overlay}`);
  const deployments = deploymentsOf(objects);

  test('keeps the rules of the base, in a namespace that enforces them', () => {
    expect(problemsOf(objects)).toEqual([]);
    const namespace = objects.find(({ kind }) => kind === 'Namespace');
    expect(namespace!.metadata).toMatchObject({
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
    });
    const inside = objects.filter((object) => object !== namespace);
    expect(new Set(inside.map(({ metadata }) => metadata.namespace))).toEqual(
      new Set([namespace!.metadata.name]),
    );
  });

  test('has only fields that Kubernetes has', () => {
    expect(typeProblems(overlay, objects)).toBe('');
  });

  test.each(APPS)('gives the %s settings that it has, and the time that it needs to stop', (app) => {
    const { spec } = deployments.find(({ metadata }) => metadata.name === `mortise-${app}`)!;
    const [container] = spec.template.spec.containers;
    const environment = environmentOf(container!, SECRET);
    expect([...settingsOf(app).keys()]).toEqual(expect.arrayContaining(Object.keys(environment)));
    const sleepMs = Number(container!.lifecycle?.preStop.exec.command[1] ?? 0) * 1_000;
    const image = variablesOf(lastStep(stagesOf(app).at(-1)!, 'ENV')!);
    expect(spec.template.spec.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(
      sleepMs + stopMs(app, { ...image, ...environment }) + 2_000,
    );
  });

  test('names a version of each image', () => {
    for (const { spec } of deployments)
      for (const { image } of spec.template.spec.containers) expect(image).toMatch(/:[\w.-]+$/);
  });
});

test('keda.yaml names the namespace, the service and the port of the production overlay', () => {
  const [scaled, policy] = objectsIn('keda.yaml');
  const objects = rendered('overlays/production');
  expect(problemsOf([...objects, policy!])).toEqual([]);
  const service = objects.find(({ kind }) => kind === 'Service');
  const { name, namespace } = service!.metadata;
  for (const { metadata } of [scaled!, policy!]) expect(metadata.namespace).toBe(namespace);
  const [port] = service!.spec['ports'] as { port: number }[];
  for (const { metadata } of scaled!.spec['triggers'] as { metadata: { url: string } }[])
    expect(metadata.url).toBe(`http://${name}.${namespace}.svc.cluster.local:${port!.port}/v1/queues/mail`);
});

/** The errors of the compiler where an object is a literal of its type: it refuses unknown fields. */
function typeProblems(name: string, objects: readonly KubernetesObject[]): string {
  const folder = join(here, '.cache/types');
  mkdirSync(folder, { recursive: true });
  const lines = objects.map((object, index) => {
    const [group, version] = object.apiVersion.includes('/')
      ? object.apiVersion.split('/')
      : ['core', object.apiVersion];
    const type = `import('kubernetes-types/${group!.split('.')[0]}/${version}').${object.kind}`;
    return `export const object${index}: ${type} = ${JSON.stringify(object, undefined, 1)};`;
  });
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, lines.join('\n'));
  const options =
    '--noEmit --strict --skipLibCheck --singleThreaded --types --module esnext --moduleResolution bundler';
  const args = [join(here, 'node_modules/typescript/bin/tsc'), '--ignoreConfig', ...options.split(' '), file];
  try {
    execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
}
