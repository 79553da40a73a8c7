package relay

// StatementTexts returns the SQL of this package by the names of its files, for a
// database schema.
func StatementTexts(schema string) map[string]string {
	st := newStatements(schema)
	return map[string]string{
		"session": st.session, "session_settle": st.sessionSettle,
		"scout": st.scout, "read": st.read, "backlog": st.backlog, "page": st.page, "settle": st.settle,
		"claim": st.claim, "renew": st.renew, "free": st.free, "hand_back": st.handBack, "abandon": st.abandon,
		"blocked": st.blocked, "unsettled": st.unsettled, "future": st.future, "home": st.home,
		"join": st.join, "leave": st.leave, "forget": st.forget,
		"status_lanes": st.statusLanes, "status_held": st.statusHeld, "status_relays": st.statusRelays,
		"lane_retries": st.laneRetries, "lane_batches": st.laneBatches, "lane_claim": st.laneClaim,
		"session_measure": st.sessionMeasure, "measure_waiting": st.waitingRows, "measure_retained": st.retained, "measure_horizon": st.horizon,
	}
}

// FastBatches counts the batches that the stream acknowledged as a whole.
func FastBatches(r *Relay) int64 { return r.fast.batches.Load() }

// Incarnation is the SQL that names the present life of the server.
const Incarnation = incarnation
