import { afterEach } from '@jest/globals';
import type { INestApplicationContext, ModuleMetadata, Type } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const open = new Set<INestApplicationContext>();

afterEach(async () => {
  await Promise.all([...open].map((app) => app.close()));
  open.clear();
});

/** An application, closed when the test is over. */
export async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  class App {}
  Module(metadata)(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false });
  open.add(app);
  return app;
}

/** The only provider of an application. */
export async function bootWith<Instance>(
  service: Type<Instance>,
  ...imports: NonNullable<ModuleMetadata['imports']>
): Promise<Instance> {
  return (await boot({ imports, providers: [service] })).get(service);
}
