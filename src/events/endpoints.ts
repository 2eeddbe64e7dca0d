import type { TargetEndpoints } from './targets/target.ts'

/** Reads the endpoints from the environment: the variables that AWS tools use, and one for monitoring. */
export function readEndpoints(environment: Readonly<Record<string, string | undefined>>): TargetEndpoints {
  const cloud = (service: string) =>
    environment[`AWS_ENDPOINT_URL_${service}`] || environment.AWS_ENDPOINT_URL || undefined
  return {
    firehose: cloud('FIREHOSE'),
    kinesis: cloud('KINESIS'),
    cloudwatch_logs: cloud('CLOUDWATCH_LOGS'),
    s3: cloud('S3'),
    sts: cloud('STS'),
    monitoring: environment.ADIT_MONITORING_URL || undefined,
  }
}
