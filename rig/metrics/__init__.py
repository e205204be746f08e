"""How a run stands as Prometheus metrics: over HTTP while it goes on, and as text in its folder at the end."""
