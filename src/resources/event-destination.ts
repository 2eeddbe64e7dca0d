import { common, defineResource, editable, live } from './define.ts'
import { httpUrl } from './formats.ts'
import { flag, integer, nullable, object, required, secret, text } from './value.ts'

const nonEmpty = (value: string) => (value === '' ? 'must not be empty.' : undefined)

/** Standard Webhooks writes a key as `whsec_` and base64. */
const ENCODED_KEY = /^whsec_([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/

function webhookSecret(value: string): string | undefined {
  if (value.startsWith('whsec_') && !ENCODED_KEY.test(value))
    return 'begins with whsec_, so the rest must be a key in base64, such as openssl rand -base64 32 prints.'
  return nonEmpty(value)
}

/** Partition and region become part of the host name of the request. */
const PARTITION = /^aws(-[a-z]{1,16})*$/
const REGION = /^[a-z0-9-]{0,32}$/

/** An AWS resource name, such as `arn:aws:kinesis:us-east-1:123456789012:stream/name`. */
function arn(service: string, resource: RegExp, example: string) {
  return required(
    text(2048, (value) => {
      const parts = value.split(':')
      const [prefix, partition = '', arnService, region = ''] = parts
      const matches =
        prefix === 'arn' &&
        PARTITION.test(partition) &&
        arnService === service &&
        REGION.test(region) &&
        resource.test(parts.slice(5).join(':'))
      return matches ? undefined : `"${value}" is not of the form ${example}.`
    }),
  )
}

const auth = required(
  object(
    {
      role: nullable(
        object(
          { role_arn: arn('iam', /^role\/.+/, 'arn:aws:iam::<account>:role/<name>') },
          { name: 'CloudRole' },
        ),
      ),
      creds: nullable(
        object(
          {
            cloud_access_key_id: required(text(255, nonEmpty)),
            cloud_secret_access_key: required(secret(text(1024, nonEmpty), 'redacted')),
          },
          { name: 'CloudCredentials' },
        ),
      ),
    },
    {
      name: 'CloudAuth',
      rule: ({ role, creds }) =>
        (role === null) === (creds === null) ? 'exactly one of role and creds must be given.' : undefined,
    },
  ),
)

/** The target of a destination: one member is set, the others are null. */
const eventTarget = object(
  {
    firehose: nullable(
      object({
        auth,
        delivery_stream_arn: arn(
          'firehose',
          /^deliverystream\/.+/,
          'arn:aws:firehose:<region>:<account>:deliverystream/<name>',
        ),
      }),
    ),
    kinesis: nullable(
      object({
        auth,
        stream_arn: arn('kinesis', /^stream\/.+/, 'arn:aws:kinesis:<region>:<account>:stream/<name>'),
      }),
    ),
    cloudwatch_logs: nullable(
      object({
        auth,
        log_group_arn: arn('logs', /^log-group:.+/, 'arn:aws:logs:<region>:<account>:log-group:<name>'),
      }),
    ),
    monitoring: nullable(
      object({
        api_key: required(secret(text(1024, nonEmpty), 'redacted')),
        ddtags: text(4096),
        service: text(255),
        ddsite: text(255, (value) =>
          value === '' || /^[a-z0-9.-]+(:[0-9]+)?$/i.test(value)
            ? undefined
            : `"${value}" is not a site, such as datadoghq.com.`,
        ),
      }),
    ),
    azure_logs_ingestion: nullable(
      object({
        tenant_id: required(text(255, nonEmpty)),
        client_id: required(text(255, nonEmpty)),
        client_secret: required(secret(text(1024, nonEmpty), 'redacted')),
        logs_ingestion_uri: required(httpUrl(2048)),
        data_collection_rule_id: required(text(255, nonEmpty)),
        data_collection_stream_name: required(text(255, nonEmpty)),
      }),
    ),
    s3: nullable(
      object({
        auth,
        bucket_arn: arn('s3', /^[a-z0-9.-]{3,63}$/, 'arn:aws:s3:::<bucket>'),
        object_prefix: text(512),
        compression: flag(false),
        max_file_size: integer(1, 1_073_741_824, 5_242_880),
        max_file_age: integer(1, 86_400, 300),
      }),
    ),
    webhook: nullable(
      object({
        url: required(httpUrl(2048)),
        secret: required(secret(text(255, webhookSecret), 'redacted')),
      }),
    ),
  },
  {
    name: 'EventTarget',
    rule: (target) =>
      Object.values(target).filter((member) => member !== null).length === 1
        ? undefined
        : `exactly one target must be given: ${Object.keys(target).join(', ')}.`,
  },
)

/** A sink of the account that receives the events of the subscriptions that name it. */
export const EventDestination = defineResource({
  name: 'event destination',
  path: '/event_destinations',
  prefix: 'ed',
  listKey: 'event_destinations',
  event: 'event_destination',
  roles: { change: 'admin' },
  fields: {
    ...common,
    format: editable({
      ...text(16, (value) =>
        value.toLowerCase() === 'json'
          ? undefined
          : `"${value}" is not a known format; the only one is json.`,
      ),
      fallback: 'json',
    }),
    target: editable(required(eventTarget)),
    status: live(
      nullable(
        object(
          {
            last_success_at: nullable(text(64)),
            last_error_at: nullable(text(64)),
            last_error: nullable(text(4096)),
            backlog: integer(0, Number.MAX_SAFE_INTEGER, 0),
            dead: integer(0, Number.MAX_SAFE_INTEGER, 0),
            dropped: integer(0, Number.MAX_SAFE_INTEGER, 0),
            disabled: flag(false),
          },
          { name: 'EventDestinationStatus' },
        ),
      ),
    ),
  },
})
