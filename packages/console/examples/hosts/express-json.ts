import express from 'express';
import type { Express } from 'express';

/** In place of `app.use(express.json())`, where the console is mounted after it. */
export function parseBodies(app: Express): void {
  app.use(
    express.json({ verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }) }),
  );
}
