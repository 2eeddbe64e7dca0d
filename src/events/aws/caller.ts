import { parseRetryAfter } from '../retry-after.ts'
import type { SettingsOf, TargetContext } from '../target.ts'
import { DeliveryFailed } from '../target.ts'
import { createAwsHandler } from './handler.ts'

export type CloudAuth = SettingsOf<'kinesis'>['auth']

/** The configuration of every SDK client. */
export interface ClientConfig {
  readonly region: string
  readonly credentials: () => Promise<Credentials>
  readonly requestHandler: ReturnType<typeof createAwsHandler>
  /** One: the queue decides about retries and counts them. */
  readonly maxAttempts: 1
  readonly endpoint?: string
}

interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

const EXPIRED_TOKEN_ERRORS = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired'])

/**
 * Creates a function that makes calls with the credentials of a destination. The client is created on first use, since the
 * SDK is large and most servers never need it, and replaced once per call when its credentials have expired.
 */
export function createAwsCaller<C>(options: {
  auth: CloudAuth
  region: string
  endpoint: string | undefined
  context: TargetContext
  connect: (config: ClientConfig) => Promise<C>
}): <T>(send: (client: C) => Promise<T>) => Promise<T> {
  const { auth, region, endpoint, context, connect } = options
  const requestHandler = createAwsHandler(context.outbound)
  let client: Promise<C> | undefined

  function getClient(): Promise<C> {
    client ??= connect({
      region,
      credentials: () => resolveCredentials(auth, region, context),
      requestHandler,
      maxAttempts: 1,
      ...(endpoint === undefined ? {} : { endpoint }),
    })
    return client
  }

  return async (send) => {
    try {
      return await send(await getClient())
    } catch (error) {
      client = undefined
      if (auth.role === null || !EXPIRED_TOKEN_ERRORS.has((error as Error).name))
        throw toDeliveryError(error, context)
    }
    try {
      return await send(await getClient())
    } catch (error) {
      client = undefined
      throw toDeliveryError(error, context)
    }
  }
}

async function resolveCredentials(
  { creds, role }: CloudAuth,
  region: string,
  { accountId, outbound, endpoints, cloudIdentity }: TargetContext,
): Promise<Credentials> {
  if (creds !== null)
    return { accessKeyId: creds.cloud_access_key_id, secretAccessKey: creds.cloud_secret_access_key }
  const { AssumeRoleCommand, STSClient } = await import('@aws-sdk/client-sts')
  const sts = new STSClient({
    region,
    requestHandler: createAwsHandler(outbound),
    maxAttempts: 1,
    ...(endpoints.sts === undefined ? {} : { endpoint: endpoints.sts }),
    ...(cloudIdentity === undefined ? {} : { credentials: cloudIdentity }),
  })
  const { Credentials: credentials } = await sts.send(
    new AssumeRoleCommand({
      RoleArn: role!.role_arn,
      RoleSessionName: 'adit-events',
      // Prevents an account from using a role that trusts the platform on behalf of another account.
      ExternalId: accountId,
    }),
  )
  if (!credentials?.AccessKeyId || !credentials.SecretAccessKey)
    throw new DeliveryFailed('The role could not be assumed: the answer holds no credentials.')
  return {
    accessKeyId: credentials.AccessKeyId,
    secretAccessKey: credentials.SecretAccessKey,
    ...(credentials.SessionToken === undefined ? {} : { sessionToken: credentials.SessionToken }),
    ...(credentials.Expiration === undefined ? {} : { expiration: credentials.Expiration }),
  }
}

interface SdkError extends Error {
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> }
}

function isTimeout(error: unknown): boolean {
  return ['TimeoutError', 'AbortError'].includes((error as Error).name)
}

/** SDK errors include the request; only their name and message are stored and returned (P43). */
function toDeliveryError(error: unknown, { clock }: TargetContext): Error {
  if (error instanceof DeliveryFailed || isTimeout(error)) return error as Error
  const { name, message, $response } = error as SdkError
  return new DeliveryFailed(
    name === 'Error' || name === 'OutboundProblem' ? message : `${name}: ${message}`,
    {
      retryAfterMs: parseRetryAfter($response?.headers?.['retry-after'], clock.now()),
    },
  )
}
