/** The text of BullMQ's `exportPrometheusMetrics`. */
interface Source {
  readonly name: string;
  getJobCounts(): Promise<Record<string, number>>;
  getMetrics(type: 'completed' | 'failed'): Promise<{ meta: { count: number } }>;
}

export async function prometheusText(queue: Source, labels: Record<string, string> = {}): Promise<string> {
  const counts = await queue.getJobCounts();
  const name = escaped(queue.name);
  const others = Object.entries(labels)
    .map(([label, value]) => `, ${label}="${escaped(value)}"`)
    .join('');
  const lines = [
    '# HELP bullmq_job_count Number of jobs in the queue by state',
    '# TYPE bullmq_job_count gauge',
    ...Object.entries(counts).map(
      ([state, count]) => `bullmq_job_count{queue="${name}", state="${state}"${others}} ${count}`,
    ),
  ];
  for (const type of ['completed', 'failed'] as const) {
    const { meta } = await queue.getMetrics(type);
    lines.push(
      `# HELP bullmq_job_${type}_total Total number of ${type} jobs`,
      `# TYPE bullmq_job_${type}_total counter`,
      `bullmq_job_${type}_total{queue="${name}"${others}} ${meta.count}`,
    );
  }
  return lines.join('\n');
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
