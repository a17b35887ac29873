SELECT * FROM ({select}) b WHERE machine IN (SELECT machine FROM asked)
