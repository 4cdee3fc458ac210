import { InjectFlowProducer, InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
// oxlint-disable-next-line typescript/consistent-type-imports -- decorators name these classes
import { FlowProducer, Queue } from 'bullmq';

@Injectable()
export class AudioService {
  constructor(
    @InjectQueue('audio') readonly queue: Queue,
    @InjectQueue('albums') readonly albumQueue: Queue,
    @InjectFlowProducer('albums') readonly albums: FlowProducer,
  ) {}

  async transcode(file: string, flaky = false): Promise<void> {
    await this.queue.add(
      'transcode',
      { file, flaky },
      { attempts: 3, backoff: { type: 'fixed', delay: 20 } },
    );
  }

  async album(files: readonly string[]): Promise<void> {
    const children = files.map((file) => ({ name: 'transcode', queueName: 'audio', data: { file } }));
    await this.albums.add({ name: 'album', queueName: 'audio', data: { file: 'album.mp3' }, children });
  }
}
