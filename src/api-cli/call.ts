import { ApiError, type ApiRequest, createClient } from '../api-client/index.ts'
import { CommandFailure } from '../base/process/command-line.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { type ApiAccess, type ApiFlags, findApiAccess } from './access.ts'

/** A call that the API rejected; `field` is the dotted path of the invalid field. */
export class ApiFailure extends CommandFailure {
  readonly field: string | undefined

  constructor({ message, status, code, details }: ApiError) {
    super(
      code === undefined
        ? `${message} It is set by --api-url.`
        : `${message}\n${code} (status ${status}): adit help ${code}`,
    )
    this.field = details.field
  }
}

/** Sends one call and returns the JSON of the response. Throws `CommandFailure` when it fails. */
export async function sendCall(
  request: ApiRequest,
  { url, key }: ApiAccess,
  timeoutMs?: number,
): Promise<unknown> {
  const client = createClient({ apiUrl: url, apiKey: key })
  try {
    return await client.request(request, timeoutMs === undefined ? {} : { timeoutMs })
  } catch (error) {
    if (error instanceof ApiError) throw new ApiFailure(error)
    throw new CommandFailure(
      `${errorMessage(error)} Is the server running? Choose another one with --api-url.`,
    )
  }
}

/** Reads an object of the API. */
export async function callApi(path: string, flags: ApiFlags): Promise<unknown> {
  return sendCall({ method: 'GET', path }, findApiAccess(flags, process.env))
}
