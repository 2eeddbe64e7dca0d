import { useApi } from '../kit/index.ts'

/** What the server says of itself. */
export interface Platform {
  readonly domain: string
  readonly http_url: string | null
  readonly https_url: string | null
  readonly tcp_host: string
  readonly agent_addr: string | null
  readonly ssh_addr: string | null
  readonly acme: boolean
  readonly ca_pem: string
}

/** The addresses and settings of the server this page comes from. */
export function usePlatform(): Platform | undefined {
  return useApi<Platform>('/dashboard/api/platform').value
}

/** The address at which visitors reach a host name over https, with the port they need. */
export function httpsUrlOf(host: string, platform: Platform | undefined): string {
  const port = platform?.https_url ? new URL(platform.https_url).port : ''
  return `https://${host}${port === '' ? '' : `:${port}`}`
}
