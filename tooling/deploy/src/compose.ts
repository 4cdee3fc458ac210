/** deploy/compose.yaml, with the variables replaced that it takes from the environment. */
import { parse } from 'yaml';
import { z } from 'zod';

import { read } from './repository.js';

const duration = z.string().regex(/^\d+s$/);
const healthcheck = z.strictObject({
  test: z.array(z.string()).min(2),
  interval: duration,
  timeout: duration,
  start_period: duration,
});

/** Every field that the file may have: a misspelt one is refused. */
const composeFile = z.strictObject({
  name: z.string(),
  'x-app': z.unknown(),
  services: z.record(
    z.string(),
    z.strictObject({
      build: z.strictObject({ context: z.literal('..'), dockerfile: z.string() }).optional(),
      image: z.string().optional(),
      command: z.array(z.string()).optional(),
      environment: z.record(z.string(), z.string()),
      configs: z.array(z.strictObject({ source: z.string(), target: z.string() })).optional(),
      volumes: z.array(z.string()).optional(),
      tmpfs: z.array(z.string()).optional(),
      ports: z.array(z.string()).optional(),
      networks: z.array(z.string()),
      depends_on: z
        .record(z.string(), z.strictObject({ condition: z.literal('service_healthy') }))
        .optional(),
      restart: z.literal('unless-stopped'),
      read_only: z.boolean().optional(),
      cap_drop: z.array(z.string()).optional(),
      security_opt: z.array(z.string()),
      mem_limit: z.string(),
      healthcheck: healthcheck.optional(),
      stop_grace_period: duration,
    }),
  ),
  configs: z.record(z.string(), z.strictObject({ content: z.string() })),
  volumes: z.record(z.string(), z.null()),
  networks: z.record(z.string(), z.strictObject({ internal: z.boolean() }).nullable()),
});

export type Compose = z.infer<typeof composeFile>;

/** Throws when a variable without a default is missing, and when the file has an unknown field. */
export function composeWith(variables: Readonly<Record<string, string>>): Compose {
  const file: unknown = parse(
    read('deploy/compose.yaml'),
    (_key, value: unknown) => (typeof value === 'string' ? interpolate(value, variables) : value),
    { merge: true },
  );
  return composeFile.parse(file);
}

/**
 * Replaces `${NAME:-default}` and `${NAME:?message}`; an empty variable counts as missing, as compose has it. Throws for `${NAME}`, which
 * would be empty without a word.
 */
function interpolate(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+)(?::([?-]))?([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const value = variables[name] ?? '';
    if (value !== '') return value;
    if (kind === '-') return rest;
    throw new Error(`${name} ${rest}`);
  });
}
