import { parseArn } from '../aws/arn.ts'
import { createAwsCaller } from '../aws/caller.ts'
import { attemptSignal, type DeliveryOutcome, delivered, type TargetFactory } from '../target.ts'

/** A Kinesis data stream, one record per event. */
export const kinesis: TargetFactory<'kinesis'> = ({ auth, stream_arn }, context) => {
  const { region, resource } = parseArn(stream_arn)
  const call = createAwsCaller({
    auth,
    region,
    endpoint: context.endpoints.kinesis,
    context,
    async connect(config) {
      const { KinesisClient, PutRecordsCommand } = await import('@aws-sdk/client-kinesis')
      return { client: new KinesisClient(config), PutRecordsCommand }
    },
  })
  return {
    limits: { maxEvents: 500, maxBytes: 4 * 1024 * 1024, maxEventBytes: 1_000_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const { Records = [] } = await call(({ client, PutRecordsCommand }) =>
        client.send(
          new PutRecordsCommand({
            StreamName: resource.replace(/^stream\//, ''),
            Records: batch.map(({ id, body }) => ({ PartitionKey: id, Data: Buffer.from(body) })),
          }),
          { abortSignal: attemptSignal(signal, context) },
        ),
      )
      // The service answers 200 even if it rejected some records.
      return batch.map((_, index): DeliveryOutcome => {
        const record = Records[index]
        if (record?.SequenceNumber !== undefined && record.ErrorCode === undefined) return delivered
        return {
          delivered: false,
          error: `${record?.ErrorCode ?? 'NoAnswer'}: ${record?.ErrorMessage ?? ''}`,
        }
      })
    },
  }
}
