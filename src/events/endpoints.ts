import type { TargetEndpoints } from './target.ts'

/** Reads the endpoints from the environment: the variables that AWS tools use, one for monitoring and one for Azure. */
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
    azure_login: environment.AZURE_AUTHORITY_HOST?.replace(/\/$/, '') || undefined,
  }
}
