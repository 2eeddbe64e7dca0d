import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { parseArn } from '../aws/arn.ts'
import { createAwsCaller } from '../aws/caller.ts'
import { attemptSignal, delivered, type OutboundEvent, type TargetFactory } from '../target.ts'

const compress = promisify(gzip)
// A file is assembled in memory, so this limit applies whatever the destination allows.
const MAX_FILE_BYTES = 16 * 1024 * 1024
const MAX_FILE_EVENTS = 20_000

/** Files of JSON lines in an S3 bucket, each closed at a size or an age. */
export const s3: TargetFactory<'s3'> = (settings, context) => {
  const { auth, bucket_arn, object_prefix, compression, max_file_size, max_file_age } = settings
  const { resource: bucket } = parseArn(bucket_arn)
  const endpoint = context.endpoints.s3
  const call = createAwsCaller({
    auth,
    // The name of a bucket does not contain its region: the client learns it from the first response.
    region: process.env.AWS_REGION ?? 'us-east-1',
    endpoint,
    context,
    async connect(config) {
      const { PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3')
      const client = new S3Client({
        ...config,
        followRegionRedirects: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        forcePathStyle: endpoint !== undefined,
      })
      return { client, PutObjectCommand }
    },
  })
  return {
    limits: {
      maxEvents: MAX_FILE_EVENTS,
      maxBytes: Math.min(max_file_size, MAX_FILE_BYTES),
      maxEventBytes: MAX_FILE_BYTES,
      lingerMs: max_file_age * 1000,
    },
    async deliver(batch, signal) {
      const lines = Buffer.from(batch.map(({ body }) => `${body}\n`).join(''))
      const Body = compression ? await compress(lines) : lines
      await call(({ client, PutObjectCommand }) =>
        client.send(
          new PutObjectCommand({
            Bucket: bucket,
            Key: `${object_prefix}${fileName(batch[0]!)}${compression ? '.gz' : ''}`,
            Body,
            ContentType: 'application/x-ndjson',
            ...(compression ? { ContentEncoding: 'gzip' } : {}),
          }),
          { abortSignal: attemptSignal(signal, context) },
        ),
      )
      return batch.map(() => delivered)
    },
  }
}

/** Sorts by time, and is the same when the same batch is sent again. */
function fileName({ id, time }: OutboundEvent): string {
  const [date = '', timeOfDay = ''] = new Date(time).toISOString().split('T')
  return `${date.replaceAll('-', '/')}/${timeOfDay.slice(0, 2)}/${id}.ndjson`
}
