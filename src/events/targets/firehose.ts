import { parseArn } from '../aws/arn.ts'
import { createAwsCaller } from '../aws/caller.ts'
import { attemptSignal, type DeliveryOutcome, delivered, type TargetFactory } from '../target.ts'

/** A Firehose delivery stream, one record per event with a trailing newline: Firehose concatenates records. */
export const firehose: TargetFactory<'firehose'> = ({ auth, delivery_stream_arn }, context) => {
  const { region, resource } = parseArn(delivery_stream_arn)
  const call = createAwsCaller({
    auth,
    region,
    endpoint: context.endpoints.firehose,
    context,
    async connect(config) {
      const { FirehoseClient, PutRecordBatchCommand } = await import('@aws-sdk/client-firehose')
      return { client: new FirehoseClient(config), PutRecordBatchCommand }
    },
  })
  return {
    limits: { maxEvents: 500, maxBytes: 3 * 1024 * 1024, maxEventBytes: 1_000_000, lingerMs: 0 },
    async deliver(batch, signal) {
      const { RequestResponses = [] } = await call(({ client, PutRecordBatchCommand }) =>
        client.send(
          new PutRecordBatchCommand({
            DeliveryStreamName: resource.replace(/^deliverystream\//, ''),
            Records: batch.map(({ body }) => ({ Data: Buffer.from(`${body}\n`) })),
          }),
          { abortSignal: attemptSignal(signal, context) },
        ),
      )
      // The service answers 200 even if it rejected some records.
      return batch.map((_, index): DeliveryOutcome => {
        const record = RequestResponses[index]
        if (record?.RecordId !== undefined && record.ErrorCode === undefined) return delivered
        return {
          delivered: false,
          error: `${record?.ErrorCode ?? 'NoAnswer'}: ${record?.ErrorMessage ?? ''}`,
        }
      })
    },
  }
}
