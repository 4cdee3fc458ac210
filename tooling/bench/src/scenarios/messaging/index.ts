import type { Scenario } from '../../scenario.js';
import { mailbox } from './mailbox.js';
import { memory } from './memory.js';
import { post } from './post.js';
import { pull } from './pull.js';
import { push } from './push.js';
import { reconnects } from './reconnects.js';
import { storm } from './storm.js';
import { waiting } from './waiting.js';

export const messaging: readonly Scenario[] = [
  ...post,
  ...pull,
  ...push,
  ...reconnects,
  ...storm,
  ...mailbox,
  ...waiting,
  ...memory,
];
