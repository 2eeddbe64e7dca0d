import type { Api } from '../../api/index.ts'
import type { Logger } from '../../base/process/log.ts'
import type { FactKind } from '../../policy/index.ts'
import type { Store } from '../../store/index.ts'
import type { PlatformInfo } from '../page-data.ts'
import { mountPolicyTools } from '../policy/policy-tools.ts'
import { mountAgentList } from './agent-list.ts'
import { type LabelledTunnels, mountBackendList } from './backend-list.ts'
import { mountEdgeList } from './edge-list.ts'
import { type FailedSignInSource, mountFailedSignIns } from './failed-sign-ins.ts'
import { mountIpCheck } from './ip-check.ts'
import { type LiveSources, mountLive } from './live.ts'
import { mountPlatform } from './platform.ts'
import { mountSearch, type SearchSources } from './search.ts'
import { mountTrafficHistory, type TrafficSource } from './traffic-history.ts'

/** The sources of the views beyond the management API. */
export interface ViewSources {
  readonly store: Store
  readonly live: LiveSources & {
    readonly traffic: TrafficSource
    readonly logins: FailedSignInSource
    readonly online: SearchSources['online'] & LabelledTunnels
  }
  readonly platform: () => Promise<PlatformInfo>
  /** The kinds of facts about addresses that the server has data for. */
  readonly readFactKinds: () => Promise<ReadonlySet<FactKind>>
  readonly log: Logger
}

/** Mounts the dashboard's own views, each limited to the caller's account. */
export function mountViews(
  { http, authenticate }: Pick<Api, 'http' | 'authenticate'>,
  { store, live, platform, readFactKinds, log }: ViewSources,
): void {
  mountLive(http, { authenticate, sources: live, log })
  mountTrafficHistory(http, { authenticate, traffic: live.traffic })
  mountFailedSignIns(http, { authenticate, logins: live.logins })
  mountAgentList(http, { authenticate, store, online: live.online })
  mountSearch(http, { authenticate, store, online: live.online })
  mountIpCheck(http, { authenticate, store })
  mountEdgeList(http, { authenticate, store })
  mountBackendList(http, { authenticate, store, online: live.online })
  mountPolicyTools(http, { authenticate, readFactKinds })
  mountPlatform(http, { authenticate, facts: platform })
}
