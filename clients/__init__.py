"""Voice callers: the only package that imports Locust or gevent."""
