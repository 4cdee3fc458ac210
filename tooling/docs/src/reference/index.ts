import { errorsOf } from './errors.js';
import { optionsOf } from './options.js';
import type { Region } from './region.js';

const PACKAGES = ['locks', 'queues', 'messaging', 'autocomplete', 'cache', 'redis'];

/** All parts of pages that are made from the source. */
export const regions: readonly Region[] = PACKAGES.flatMap((folder) => [
  {
    file: `${folder}/reference/options.md`,
    name: 'options',
    title: `Options of ${folder}`,
    description: `Every option of @mortise/${folder}, with its default and range.`,
    text: optionsOf(folder),
  },
  {
    file: `${folder}/reference/errors.md`,
    name: 'classes',
    title: `Errors of ${folder}`,
    description: `Every error code of @mortise/${folder}, with its class, fields and cause.`,
    text: errorsOf(folder),
  },
]);
