import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import { UnrecoverableError } from 'bullmq';

@Processor('audio', { concurrency: 3 })
export class AudioProcessor extends WorkerHost {
  readonly ended: string[] = [];

  async process(job: Job): Promise<string> {
    if (!job.data.file.endsWith('.mp3')) throw new UnrecoverableError('no audio');
    if (job.data.flaky && job.attemptsMade === 0) throw new Error('try again');
    await job.updateProgress(100);
    return `${job.data.file} at attempt ${job.attemptsMade + 1}`;
  }

  @OnWorkerEvent('completed')
  onCompleted(job: Job): void {
    this.ended.push(job.returnvalue);
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job): void {
    this.ended.push(`${job.data.file}: ${job.failedReason}`);
  }
}
