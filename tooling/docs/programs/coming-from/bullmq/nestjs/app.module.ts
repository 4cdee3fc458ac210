import { BullModule } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { AlbumEvents } from './album.events.js';
import { AudioEvents } from './audio.events.js';
import { AudioFailures } from './audio.failures.js';
import { AudioProcessor } from './audio.processor.js';
import { AudioService } from './audio.service.js';

const connection = { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', maxRetriesPerRequest: null };

@Module({
  imports: [
    BullModule.forRoot({ connection }),
    BullModule.registerQueue({ name: 'audio' }, { name: 'albums' }),
    BullModule.registerFlowProducer({ name: 'albums' }),
  ],
  providers: [AlbumEvents, AudioEvents, AudioFailures, AudioProcessor, AudioService],
})
export class AppModule {}
