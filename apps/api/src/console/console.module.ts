import { Module } from '@nestjs/common';

import { ConsoleController } from './console.controller.js';
import { OverviewReader } from './overview.js';
import { RedisFigures } from './redis-figures.js';

/** What the console needs beside the areas of the API. */
@Module({
  controllers: [ConsoleController],
  providers: [OverviewReader, RedisFigures],
  exports: [OverviewReader, RedisFigures],
})
export class ConsoleModule {}
