/** The globals that `reader.mjs` gives to the hidden checks of a page. */
import type strict from 'node:assert/strict';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import type * as Api from '@opentelemetry/api';

interface Requested {
  readonly method: string;
  readonly url: string;
  readonly headers: unknown;
  readonly body: unknown;
}

declare global {
  const assert: typeof strict;
  const requests: readonly Requested[];
  function nest(metadata: ModuleMetadata): Promise<INestApplicationContext>;
  function until(condition: () => boolean | Promise<boolean>): Promise<void>;
  function telemetryOf(api: typeof Api): ReadonlySet<string>;
}
