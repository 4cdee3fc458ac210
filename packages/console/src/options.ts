import type { IncomingMessage } from 'node:http';

import {
  ArgumentTypeError,
  DEFAULT_PREFIX,
  requireArray,
  requireFunction,
  requireName,
  requireOptions,
  requireText,
} from '@mortise/redis';

import type { ConsoleRequest, ConsoleRight } from './http/http-call.js';

/** An action of a user, done or refused. */
export interface ConsoleAction<Request extends ConsoleRequest = IncomingMessage> {
  /** ms since the epoch. */
  readonly at: number;
  readonly method: string;
  /** The encoded path below the API of the page: `queues/mail/pause`. */
  readonly path: string;
  /** The status of the answer: the action was refused from 400 on. */
  readonly status: number;
  /** The request, as `authorize` got it; it identifies the user. */
  readonly request: Request;
}

export interface ConsoleOptions<Request extends ConsoleRequest = IncomingMessage> {
  /**
   * Decides what the sender of a request may do; undefined refuses the request, and so does an error. Called for each request,
   * and every 15 s for an open stream of events. The function gets the request as the framework has it.
   */
  readonly authorize: (request: Request) => ConsoleRight | undefined | Promise<ConsoleRight | undefined>;
  /** The path of the page, as browsers see it. Default `/console`. */
  readonly mount?: string | undefined;
  /** Names of the queues that are shown. Default: all queues of the prefix. */
  readonly queues?: readonly string[] | undefined;
  /** The prefix of the queues. Default `mortise`. */
  readonly prefix?: string | undefined;
  /**
   * Names of members whose values are hidden, at any depth of payloads, results, progress, headers and log lines that are JSON.
   * Case, `_` and `-` don't count. Default `password`, `secret`, `token`, `authorization`, `apiKey`, `creditCard`.
   */
  readonly redact?: readonly string[] | undefined;
  /** Host names under which the console answers, without a port; others are refused. Default: any. */
  readonly hosts?: readonly string[] | undefined;
  /**
   * Gets each action before its answer is sent, refused ones too. An error goes to `onError`, and the answer is sent. Default: a line
   * on stderr.
   */
  readonly onAction?: ((action: ConsoleAction<Request>) => unknown) | undefined;
  /** Gets errors of the console and of `authorize`. Default: a line on stderr. */
  readonly onError?: ((error: unknown) => unknown) | undefined;
}

export const DEFAULTS = {
  mount: '/console',
  prefix: DEFAULT_PREFIX,
  redact: ['password', 'secret', 'token', 'authorization', 'apiKey', 'creditCard'],
} as const;

const OPTIONS = new Set(['authorize', 'mount', 'queues', 'prefix', 'redact', 'hosts', 'onAction', 'onError']);

export interface ResolvedOptions {
  readonly authorize: (request: ConsoleRequest) => unknown;
  readonly mount: string;
  readonly queues: readonly string[] | undefined;
  readonly prefix: string;
  readonly redact: readonly string[];
  readonly hosts: ReadonlySet<string> | undefined;
  readonly onAction: ((action: ConsoleAction<ConsoleRequest>) => unknown) | undefined;
  readonly onError: ((error: unknown) => unknown) | undefined;
}

/** Throws ERR_INVALID_ARG: without `authorize` everybody would be an operator. */
export function resolveOptions<Request extends ConsoleRequest>(
  options: ConsoleOptions<Request>,
): ResolvedOptions {
  const {
    authorize,
    mount = DEFAULTS.mount,
    queues,
    prefix = DEFAULTS.prefix,
  } = requireOptions('consoleHandler', options, OPTIONS);
  const { redact = DEFAULTS.redact, hosts, onAction, onError } = options;
  if (onAction !== undefined) requireFunction('onAction', onAction);
  if (onError !== undefined) requireFunction('onError', onError);
  return {
    authorize: requireFunction('authorize', authorize) as ResolvedOptions['authorize'],
    mount: requireMount(mount),
    queues: queues && textsOf('queues', queues),
    prefix: requireText('prefix', prefix),
    redact: textsOf('redact', redact),
    hosts: hosts && new Set(textsOf('hosts', hosts).map((host) => host.toLowerCase())),
    onAction: onAction as ResolvedOptions['onAction'],
    onError,
  };
}

/** It stands in the page and in its code, so it has no character that means something there. */
function requireMount(mount: string): string {
  if (/^(?:\/[\w~-][\w.~-]*)+$/.test(requireText('mount', mount))) return mount;
  throw new ArgumentTypeError(
    `mount must be a path such as /admin/console, of the characters A-Z a-z 0-9 / . _ ~ -, got ${JSON.stringify(mount)}`,
  );
}

function textsOf(option: string, texts: readonly string[]): string[] {
  return requireArray(option, texts).map((text) => requireName(option, text));
}
